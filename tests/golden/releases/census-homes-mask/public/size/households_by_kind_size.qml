<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.22" styleCategories="Symbology">
  <pipe>
    <rasterrenderer type="singlebandpseudocolor" band="1" opacity="1" alphaBand="-1"
        classificationMin="0" classificationMax="10484">
      <rasterTransparency>
        <singleValuePixelList>
          <pixelListEntry min="0" max="0" percentTransparent="100"/>
        </singleValuePixelList>
      </rasterTransparency>
      <rastershader>
        <colorrampshader colorRampType="DISCRETE" classificationMode="1" clip="0"
            minimumValue="0" maximumValue="10484">
          <item value="0" label="0" color="#000000" alpha="0"/>
          <item value="10.5" label="1 – 10 (below 10 per km²)" color="#f1605d" alpha="255"/>
          <item value="31.5" label="11 – 31 (10 to 30 per km²)" color="#d8456c" alpha="255"/>
          <item value="104.5" label="32 – 104 (30 to 100 per km²)" color="#b73779" alpha="255"/>
          <item value="314.5" label="105 – 314 (100 to 300 per km²)" color="#942c80" alpha="255"/>
          <item value="1048.5" label="315 – 1,048 (300 to 1,000 per km²)" color="#732081" alpha="255"/>
          <item value="3145.5" label="1,049 – 3,145 (1,000 to 3,000 per km²)" color="#52137c" alpha="255"/>
          <item value="10483.5" label="3,146 – 10,483 (3,000 to 10,000 per km²)" color="#2f1163" alpha="255"/>
          <item value="inf" label="10,484 or more (10,000 or more per km²)" color="#120d31" alpha="255"/>
        </colorrampshader>
      </rastershader>
    </rasterrenderer>
  </pipe>
  <renderer-v2 type="graduatedSymbol" attr='"households_by_kind_size"' symbollevels="0"
      graduatedMethod="GraduatedColor" enableorderby="0" forceraster="0">
    <ranges>
      <range lower="1" upper="10" symbol="0" label="1 – 10 (below 10 per km²)" render="true"/>
      <range lower="11" upper="31" symbol="1" label="11 – 31 (10 to 30 per km²)" render="true"/>
      <range lower="32" upper="104" symbol="2" label="32 – 104 (30 to 100 per km²)" render="true"/>
      <range lower="105" upper="314" symbol="3" label="105 – 314 (100 to 300 per km²)" render="true"/>
      <range lower="315" upper="1048" symbol="4" label="315 – 1,048 (300 to 1,000 per km²)" render="true"/>
      <range lower="1049" upper="3145" symbol="5" label="1,049 – 3,145 (1,000 to 3,000 per km²)" render="true"/>
      <range lower="3146" upper="10483" symbol="6" label="3,146 – 10,483 (3,000 to 10,000 per km²)" render="true"/>
      <range lower="10484" upper="1.15292150461e+18" symbol="7" label="10,484 or more (10,000 or more per km²)" render="true"/>
    </ranges>
    <symbols>
      <symbol type="fill" name="0" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="241,96,93,255"/><prop k="outline_color" v="241,96,93,255"/><prop k="style" v="solid"/><prop k="outline_style" v="solid"/><prop k="outline_width" v="0.3"/><prop k="outline_width_unit" v="MM"/><prop k="joinstyle" v="miter"/></layer></symbol>
      <symbol type="fill" name="1" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="216,69,108,255"/><prop k="outline_color" v="216,69,108,255"/><prop k="style" v="solid"/><prop k="outline_style" v="solid"/><prop k="outline_width" v="0.3"/><prop k="outline_width_unit" v="MM"/><prop k="joinstyle" v="miter"/></layer></symbol>
      <symbol type="fill" name="2" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="183,55,121,255"/><prop k="outline_color" v="183,55,121,255"/><prop k="style" v="solid"/><prop k="outline_style" v="solid"/><prop k="outline_width" v="0.3"/><prop k="outline_width_unit" v="MM"/><prop k="joinstyle" v="miter"/></layer></symbol>
      <symbol type="fill" name="3" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="148,44,128,255"/><prop k="outline_color" v="148,44,128,255"/><prop k="style" v="solid"/><prop k="outline_style" v="solid"/><prop k="outline_width" v="0.3"/><prop k="outline_width_unit" v="MM"/><prop k="joinstyle" v="miter"/></layer></symbol>
      <symbol type="fill" name="4" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="115,32,129,255"/><prop k="outline_color" v="115,32,129,255"/><prop k="style" v="solid"/><prop k="outline_style" v="solid"/><prop k="outline_width" v="0.3"/><prop k="outline_width_unit" v="MM"/><prop k="joinstyle" v="miter"/></layer></symbol>
      <symbol type="fill" name="5" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="82,19,124,255"/><prop k="outline_color" v="82,19,124,255"/><prop k="style" v="solid"/><prop k="outline_style" v="solid"/><prop k="outline_width" v="0.3"/><prop k="outline_width_unit" v="MM"/><prop k="joinstyle" v="miter"/></layer></symbol>
      <symbol type="fill" name="6" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="47,17,99,255"/><prop k="outline_color" v="47,17,99,255"/><prop k="style" v="solid"/><prop k="outline_style" v="solid"/><prop k="outline_width" v="0.3"/><prop k="outline_width_unit" v="MM"/><prop k="joinstyle" v="miter"/></layer></symbol>
      <symbol type="fill" name="7" alpha="1" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" pass="0" locked="0"><prop k="color" v="18,13,49,255"/><prop k="outline_color" v="18,13,49,255"/><prop k="style" v="solid"/><prop k="outline_style" v="solid"/><prop k="outline_width" v="0.3"/><prop k="outline_width_unit" v="MM"/><prop k="joinstyle" v="miter"/></layer></symbol>
    </symbols>
  </renderer-v2>
</qgis>
